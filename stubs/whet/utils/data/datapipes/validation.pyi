# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.



class guaranteed_datapipes_determinism:
    def __init__(self, mode: bool = True) -> None: ...
