"""Values in and out: numbers and lists, NumPy's arrays, DLPack, memory that several processes see."""
