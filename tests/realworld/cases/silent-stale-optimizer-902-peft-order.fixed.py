from types import SimpleNamespace

import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch.optim.lr_scheduler import LambdaLR
from transformers import T5Config, T5ForConditionalGeneration, logging, set_seed

logging.set_verbosity_error()


class Finetuner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.build_model()
        if cfg.lora:
            self.add_adapter()
        self.build_optimizer()

    def build_model(self):
        config = T5Config(vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4, decoder_start_token_id=0)
        self.model = T5ForConditionalGeneration(config)

    def build_optimizer(self):
        trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trainable, lr=self.cfg.lr)
        self.scheduler = LambdaLR(self.optimizer, lambda step: min(1.0, (step + 1) / self.cfg.warmup))

    def add_adapter(self):
        lora = LoraConfig(task_type=TaskType.SEQ_2_SEQ_LM, r=self.cfg.rank, lora_alpha=16, target_modules=["q", "v"])
        self.model = get_peft_model(self.model, lora)

    def data(self):
        for _ in range(self.cfg.steps):
            source = torch.randint(2, 50, (self.cfg.batch, 8))
            yield source, source.flip(1)

    def train(self):
        history = []
        self.model.train()
        for step, (source, target) in enumerate(self.data()):
            output = self.model(input_ids=source, labels=target)
            output.loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
            self.optimizer.step()
            self.scheduler.step()
            self.model.zero_grad()
            history.append((output.loss.item(), norm.item()))
            print("step %d loss %.3f norm %.3f" % (step, *history[-1]))
        return history


set_seed(5)
finetuner = Finetuner(SimpleNamespace(lora=True, rank=4, lr=1e-2, warmup=2, steps=6, batch=8, clip=1.0))
finetuner.train()
largest = max(p.abs().max().item() for n, p in finetuner.model.named_parameters() if "lora_B" in n)
print("largest entry of any lora_B", largest)
assert largest > 0
