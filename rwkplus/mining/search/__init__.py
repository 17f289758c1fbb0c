"""How patterns are searched for: shapes grown along real occurrences, judged against chance, one after the other."""
