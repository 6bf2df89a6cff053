"""Programs that make pictures: a denoising autoencoder, a VAE, a DCGAN."""

from tests.programs.vision import batches, pictures


def denoising_autoencoder(torch):
    nn = torch.nn
    torch.manual_seed(3)
    x, _ = pictures(torch, 64, 1, 16, 4)
    x = torch.sigmoid(x)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1),
        nn.LeakyReLU(0.1),
        nn.Conv2d(8, 16, 3, stride=2, padding=1),
        nn.LeakyReLU(0.1),
        nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1, output_padding=1),
        nn.ELU(),
        nn.ConvTranspose2d(8, 1, 3, stride=2, padding=1, output_padding=1),
        nn.Sigmoid(),
    )
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9)
    order = batches(torch, 64, 16)

    def step():
        clean = x[next(order)]
        noisy = torch.clamp(clean + 0.2 * torch.randn_like(clean), 0.0, 1.0)
        loss = nn.functional.mse_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def vae(torch):
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.mu, self.logvar = nn.Linear(64, 48), nn.Linear(48, 4), nn.Linear(48, 4)
            self.fc3, self.fc4 = nn.Linear(4, 48), nn.Linear(48, 64)

        def encode(self, x):
            h = F.relu(self.fc1(x))
            return self.mu(h), self.logvar(h)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            return mu + torch.randn_like(std) * std

        def forward(self, x):
            mu, logvar = self.encode(x.view(-1, 64))
            z = self.reparameterize(mu, logvar)
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    torch.manual_seed(4)
    x = torch.sigmoid(8 * pictures(torch, 128, 1, 8, 4)[0] - 4)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    order = batches(torch, 128, 32)

    def step():
        rows = next(order)
        seen, mu, logvar = model(x[rows])
        error = F.binary_cross_entropy(seen, x[rows].view(-1, 64), reduction="sum")
        divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = (error + divergence) / len(rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def dcgan(torch):
    nn = torch.nn

    def start(m):
        name = m.__class__.__name__
        if name.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif name.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    torch.manual_seed(5)
    x = torch.tanh(pictures(torch, 64, 1, 16, 4)[0])
    generator = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, 1, 0, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(True),
        nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    ).apply(start)
    critic = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 16, 4, 2, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(16, 1, 4, 1, 0, bias=False),
        nn.Flatten(),
        nn.Sigmoid(),
    ).apply(start)
    criterion = nn.BCELoss()
    critics, makers = (
        torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999))
        for net in (critic, generator)
    )
    order = batches(torch, 64, 16)

    def step():
        real, ones, zeros = x[next(order)], torch.ones(16, 1), torch.zeros(16, 1)
        critic.zero_grad()
        fake = generator(torch.randn(16, 8, 1, 1))
        of_critic = criterion(critic(real), ones)
        of_critic.backward()
        on_fakes = criterion(critic(fake.detach()), zeros)
        on_fakes.backward()
        critics.step()
        generator.zero_grad()
        of_generator = criterion(critic(fake), ones)
        of_generator.backward()
        makers.step()
        return (of_critic + on_fakes + of_generator).item()

    return step
