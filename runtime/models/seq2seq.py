"""An encoder and a decoder of LSTMs (Sutskever et al., 2014), with the keys of bentrevett's
tutorials: `encoder.rnn.weight_ih_l0`, `decoder.fc_out.weight`."""
from whet import cat, full, nn, no_grad


class Encoder(nn.Module):
    """A source, (length, batch), as the state after its last token.

    >>> import whet
    >>> encoder = whet.models.Encoder(input_dim=20, emb_dim=8, hid_dim=16)
    >>> hidden, cell = encoder(whet.randint(0, 20, (7, 3)))
    >>> hidden.shape                                # layers, batch, width
    whet.Size([2, 3, 16])
    """

    def __init__(self, input_dim, emb_dim, hid_dim, n_layers=2, dropout=0.5):
        super().__init__()
        self.embedding = nn.Embedding(input_dim, emb_dim)
        self.rnn = nn.LSTM(emb_dim, hid_dim, n_layers, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, src):
        _, state = self.rnn(self.dropout(self.embedding(src)))
        return state


class Decoder(nn.Module):
    """Logits of what follows each token of a target, and the state after the last one.

    >>> import whet
    >>> decoder = whet.models.Decoder(output_dim=30, emb_dim=8, hid_dim=16)
    >>> hidden = cell = whet.zeros(2, 3, 16)        # layers, batch, width
    >>> logits, state = decoder(whet.randint(0, 30, (5, 3)), (hidden, cell))
    >>> logits.shape
    whet.Size([5, 3, 30])
    """

    def __init__(self, output_dim, emb_dim, hid_dim, n_layers=2, dropout=0.5):
        super().__init__()
        self.embedding = nn.Embedding(output_dim, emb_dim)
        self.rnn = nn.LSTM(emb_dim, hid_dim, n_layers, dropout=dropout)
        self.fc_out = nn.Linear(hid_dim, output_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, trg, state):
        y, state = self.rnn(self.dropout(self.embedding(trg)), state)
        return self.fc_out(y), state


class Seq2Seq(nn.Module):
    """Logits of a target, (length, batch), of which each token is known when the next is asked
    for: teacher forcing.

    >>> import whet
    >>> encoder = whet.models.Encoder(input_dim=20, emb_dim=8, hid_dim=16)
    >>> decoder = whet.models.Decoder(output_dim=30, emb_dim=8, hid_dim=16)
    >>> model = whet.models.Seq2Seq(encoder, decoder)
    >>> model(whet.randint(0, 20, (7, 3)), whet.randint(0, 30, (5, 3))).shape
    whet.Size([5, 3, 30])
    """

    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, src, trg):
        return self.decoder(trg, self.encoder(src))[0]

    @no_grad()
    def translate(self, src, first, length):
        """The likeliest tokens one by one, (length, batch), after the token `first`."""
        state, token, tokens = self.encoder(src), full((1, src.shape[1]), first), []
        for _ in range(length):
            logits, state = self.decoder(token, state)
            token = logits.argmax(-1)
            tokens.append(token)
        return cat(tokens)
