"""The command line: parses, calls one library function, prints.

Commands import the library inside their functions, so that ``--help`` answers at once.
"""
