# not applicable: not written, since the case needs transformers and peft
