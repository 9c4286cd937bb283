-- sorted keys: the keys of tables, sorted, in one list

return function(...)
	local list = {}
	for _, set in ipairs{ ... } do
		for key in pairs(set) do
			list[#list + 1] = key
		end
	end
	table.sort(list)
	return list
end
