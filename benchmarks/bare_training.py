"""Training as one page of script does it, after nanoGPT: it says its step now and then."""

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from posviz.training.config import default_config
from posviz.training.gpt import GPT, GPTConfig
from posviz.training.text import library_text

SAID = 10  # steps between two lines

torch.set_num_threads(1)  # as posviz trains
config = default_config("char-lm")
text = library_text()
numbers = {symbol: number for number, symbol in enumerate(sorted(set(text)))}
data = np.array([numbers[symbol] for symbol in text], dtype=np.uint16)


def get_batch() -> tuple[torch.Tensor, torch.Tensor]:
    length = config.sequence_length
    starts = torch.randint(len(data) - length, (config.batch_size,))
    x = torch.stack([torch.from_numpy(data[i : i + length].astype(np.int64)) for i in starts])
    y = torch.stack(
        [torch.from_numpy(data[i + 1 : i + 1 + length].astype(np.int64)) for i in starts]
    )
    return x, y


model = GPT(GPTConfig(len(numbers), config.n_positions, config.d_model, config.n_layers))
optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, fused=True)
step = 0
while True:
    x, y = get_batch()
    logits = model(x)
    loss = cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    step += 1
    if step % SAID == 0:
        print(step, loss.item(), flush=True)
