"""Programs that read and write text: a char-RNN, seq2seq with attention, a GPT with a KV cache, word2vec."""

import random

TEXT = (
    "the cat sat on the mat and the dog sat on the log while the bird sang a song to them all. " * 4
)
LETTERS = sorted(set(TEXT))


def encoded(torch):
    return torch.tensor([LETTERS.index(letter) for letter in TEXT])


def char_rnn(torch):
    nn = torch.nn

    class CharRNN(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(len(LETTERS), 16)
            self.rnn = nn.LSTM(16, 32, num_layers=2, dropout=0.1, batch_first=True)
            self.out = nn.Linear(32, len(LETTERS))

        def forward(self, x, state=None):
            out, state = self.rnn(self.embed(x), state)
            return self.out(out), state

    torch.manual_seed(6)
    rows = encoded(torch)[: 8 * 45].view(8, 45)
    model = CharRNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion, place = nn.CrossEntropyLoss(), [0, None]

    def step():
        start, state = place
        x, y = rows[:, start : start + 11], rows[:, start + 1 : start + 12]
        scores, state = model(x, state)
        loss = criterion(scores.reshape(-1, len(LETTERS)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        place[:] = (start + 11) % 33, tuple(part.detach() for part in state)
        return loss.item()

    return step


def seq2seq(torch):
    """Turn sequences of different lengths around; the decoder sees its own words half of the time."""
    nn, F = torch.nn, torch.nn.functional
    words, hidden, start = 12, 24, 0

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(words, 16, padding_idx=0)
            self.rnn = nn.GRU(16, hidden, bidirectional=True, batch_first=True)
            self.join = nn.Linear(2 * hidden, hidden)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(
                self.embed(x), lengths, batch_first=True, enforce_sorted=False
            )
            out, state = self.rnn(packed)
            out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
            return self.join(out), torch.tanh(self.join(torch.cat([state[0], state[1]], 1)))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(words, 16)
            self.cell = nn.GRUCell(16 + hidden, hidden)
            self.query, self.key = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
            self.energy = nn.Linear(hidden, 1, bias=False)
            self.out = nn.Linear(2 * hidden, words)

        def forward(self, word, state, memory, mask):
            scores = self.energy(torch.tanh(self.query(state).unsqueeze(1) + self.key(memory)))
            weights = F.softmax(scores.squeeze(2).masked_fill(mask, float("-inf")), dim=1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            state = self.cell(torch.cat([self.embed(word), context], 1), state)
            return self.out(torch.cat([state, context], 1)), state

    torch.manual_seed(7)
    coin = random.Random(7)
    lengths = torch.tensor([7, 5, 3, 6, 4, 7, 2, 5])
    x = torch.randint(1, words, (8, 7))
    x = x.masked_fill(torch.arange(7) >= lengths.unsqueeze(1), 0)
    target = torch.zeros(8, 7, dtype=torch.int64)
    for i, length in enumerate(lengths.tolist()):
        target[i, :length] = x[i, :length].flip(0)
    encoder, decoder = Encoder(), Decoder()
    params = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(params, lr=3e-3)
    criterion = nn.NLLLoss(ignore_index=0)

    def step():
        memory, state = encoder(x, lengths)
        word, loss = torch.full((8,), start), 0
        for t in range(7):
            scores, state = decoder(word, state, memory, x == 0)
            loss = loss + criterion(F.log_softmax(scores, dim=1), target[:, t])
            word = target[:, t] if coin.random() < 0.5 else scores.topk(1)[1].squeeze(1).detach()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        return loss.item() / 7

    return step


def gpt_model(torch, width=32, heads=4, blocks=2, context=32):
    """Return a small GPT; called with a cache, it takes only the new tokens."""
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x, cache=None):
            batch, length, _ = x.shape
            q, k, v = self.qkv(x).chunk(3, dim=-1)
            q, k, v = (t.view(batch, length, heads, -1).transpose(1, 2) for t in (q, k, v))
            if cache is not None:
                if cache:
                    k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
                cache[:] = k, v
            y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention()
            self.mlp = nn.Sequential(
                nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            )

        def forward(self, x, cache=None):
            x = x + self.attention(self.ln1(x), cache)
            return x + self.mlp(self.ln2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(len(LETTERS), width)
            self.places = nn.Parameter(torch.zeros(1, context, width))
            self.drop = nn.Dropout(0.1)
            self.blocks = nn.ModuleList([Block() for _ in range(blocks)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, len(LETTERS), bias=False)
            self.tokens.weight = self.head.weight
            self.register_buffer("seen", torch.zeros(1))
            self.apply(self.start)

        def start(self, module):
            if isinstance(module, (nn.Linear, nn.Embedding)):
                torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

        def forward(self, ids, targets=None, caches=None, place=0):
            x = self.tokens(ids) + self.places[:, place : place + ids.size(1)]
            x = self.drop(x)
            for i, block in enumerate(self.blocks):
                x = block(x, None if caches is None else caches[i])
            scores = self.head(self.norm(x))
            if targets is None:
                return scores, None
            return scores, F.cross_entropy(scores.flatten(0, 1), targets.flatten())

        @torch.no_grad()
        def generate(self, ids, count, temperature=1.0, top_k=5, use_cache=True):
            self.eval()
            caches, place = [[] for _ in self.blocks], 0
            for _ in range(count):
                if use_cache:
                    scores, _ = self(ids[:, place:], caches=caches, place=place)
                    place = ids.size(1)
                else:
                    scores, _ = self(ids)
                scores = scores[:, -1, :] / temperature
                least = torch.topk(scores, top_k).values[:, [-1]]
                scores[scores < least] = -float("inf")
                following = torch.multinomial(F.softmax(scores, dim=-1), num_samples=1)
                ids = torch.cat([ids, following], dim=1)
            self.train()
            return ids

    return GPT()


def gpt(torch):
    torch.manual_seed(8)
    ids, model = encoded(torch), gpt_model(torch)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6000)

    def step():
        starts = torch.randint(len(ids) - 25, (8,)).tolist()
        x = torch.stack([ids[i : i + 24] for i in starts])
        y = torch.stack([ids[i + 1 : i + 25] for i in starts])
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss.item()

    step.model = model
    return step


def word2vec(torch):
    """Skip-gram with negative samples."""
    nn, F = torch.nn, torch.nn.functional
    words = TEXT.replace(".", "").split()
    names = sorted(set(words))
    ids = [names.index(word) for word in words]
    pairs = [(ids[i], ids[i + d]) for i in range(2, len(ids) - 2) for d in (-2, -1, 1, 2)]
    torch.manual_seed(9)
    counts = torch.bincount(torch.tensor(ids), minlength=len(names)).to(torch.get_default_dtype())
    often = counts**0.75
    centre, around = nn.Embedding(len(names), 16), nn.Embedding(len(names), 16)
    nn.init.uniform_(around.weight, -0.1, 0.1)
    optimizer = torch.optim.Adagrad([*centre.parameters(), *around.parameters()], lr=0.1)
    data = torch.tensor(pairs)

    def step():
        rows = data[torch.randint(len(pairs), (32,))]
        negative = torch.multinomial(often, 32 * 4, replacement=True).view(32, 4)
        v = centre(rows[:, 0]).unsqueeze(2)
        right = torch.bmm(around(rows[:, 1]).unsqueeze(1), v).squeeze()
        wrong = torch.bmm(around(negative).neg(), v).squeeze(2)
        loss = -(F.logsigmoid(right) + F.logsigmoid(wrong).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
