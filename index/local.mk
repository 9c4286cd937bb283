# index
