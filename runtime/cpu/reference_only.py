"""Does NumPy compute everything, slowly, and no kernel? `WHET_CPU=numpy` asks for it."""
import os

REFERENCE = os.environ.get("WHET_CPU") == "numpy"
