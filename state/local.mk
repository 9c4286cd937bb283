# state
