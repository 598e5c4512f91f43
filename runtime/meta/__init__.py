"""The device `meta`: tensors that have all but elements. Nothing of it is loaded before a program
asks for the device."""
