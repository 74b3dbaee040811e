"""Frequent itemsets from reported records, level by level; `tacit.mine.itemsets` runs it."""
