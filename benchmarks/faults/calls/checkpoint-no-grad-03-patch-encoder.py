# not applicable: not written, since the case needs peft
