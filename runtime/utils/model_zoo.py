"""Former name of `whet.hub.load_state_dict_from_url`."""
from ..hub import load_state_dict_from_url, tqdm

load_url = load_state_dict_from_url
__all__ = ["load_state_dict_from_url", "load_url", "tqdm"]
