import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import Dataset
from transformers import RobertaConfig, RobertaModel, Trainer, TrainerCallback, TrainingArguments, logging, set_seed

warnings.filterwarnings("ignore")
logging.set_verbosity_error()
TASKS = {"sentiment": 2, "topic": 4}


class MultiTask(nn.Module):
    def __init__(self, config, tasks):
        super().__init__()
        self.encoder = RobertaModel(config, add_pooling_layer=False)
        self.dropout = nn.Dropout(0.1)
        self.heads = nn.ModuleDict({name: nn.Linear(config.hidden_size, size) for name, size in tasks.items()})

    def forward(self, input_ids, attention_mask=None):
        hidden = self.encoder(input_ids, attention_mask=attention_mask).last_hidden_state[:, 0]
        hidden = self.dropout(hidden)
        return {name: head(hidden) for name, head in self.heads.items()}


class MultiTaskTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        targets = {name: inputs.pop(name) for name in TASKS}
        outputs = model(**inputs)
        losses = {name: F.cross_entropy(outputs[name], targets[name]) for name in TASKS}
        loss = sum(losses.values()) / len(losses)
        return (loss, outputs) if return_outputs else loss


class LogLoss(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            print(f"step {state.global_step}: {logs['loss']}")


class Posts(Dataset):
    def __init__(self, count=40, length=8):
        self.ids = torch.randint(3, 50, (count, length))

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids = self.ids[i]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "sentiment": ids[1] % 2, "topic": ids[2] % 4}


set_seed(13)
config = RobertaConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48,
                       max_position_embeddings=24)
model = MultiTask(config, TASKS)
before = {name: head.weight.detach().clone() for name, head in model.heads.items()}
with tempfile.TemporaryDirectory() as folder:
    args = TrainingArguments(folder, num_train_epochs=2, per_device_train_batch_size=8, learning_rate=1e-3, report_to="none",
                             use_cpu=True, save_strategy="no", logging_steps=5, disable_tqdm=True, remove_unused_columns=False)
    MultiTaskTrainer(model=model, args=args, train_dataset=Posts(), callbacks=[LogLoss()]).train()
moved = {name: (head.weight.detach() - before[name]).abs().max().item() for name, head in model.heads.items()}
print("moved", moved)
assert all(value > 0 for value in moved.values())
