"""Programs that look at pictures: LeNet, a small ResNet, a U-Net."""


def pictures(torch, count, channels, size, classes):
    """Return noise with a bright square whose place says the class."""
    labels = torch.arange(count) % classes
    x = 0.3 * torch.randn(count, channels, size, size)
    for i in range(count):
        place = int(labels[i]) * (size - 4) // classes
        x[i, :, place : place + 4, place : place + 4] += 1
    return x, labels


def batches(torch, count, size):
    """Yield row numbers in a new order each epoch, without an end."""
    while True:
        yield from torch.randperm(count).split(size)


def lenet(torch):
    nn = torch.nn
    torch.manual_seed(0)
    x, y = pictures(torch, 64, 1, 16, 4)
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 4),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=20, gamma=0.5)
    order, criterion = batches(torch, 64, 16), nn.CrossEntropyLoss()

    def step():
        rows = next(order)
        optimizer.zero_grad()
        loss = criterion(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    return step


def resnet(torch):
    nn, F = torch.nn, torch.nn.functional

    def conv(inputs, outputs, stride=1, kernel=3):
        return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1, self.bn1 = conv(inputs, outputs, stride), nn.BatchNorm2d(outputs)
            self.conv2, self.bn2 = conv(outputs, outputs), nn.BatchNorm2d(outputs)
            self.shortcut = nn.Identity()
            if stride != 1 or inputs != outputs:
                self.shortcut = nn.Sequential(
                    conv(inputs, outputs, stride, 1), nn.BatchNorm2d(outputs)
                )

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)), inplace=True)
            return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(conv(3, 8), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
            self.layers = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2))
            self.pool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(32, 4)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

        def forward(self, x):
            x = self.pool(self.layers(self.stem(x)))
            return self.fc(torch.flatten(x, 1))

    torch.manual_seed(1)
    x, y = pictures(torch, 64, 3, 16, 4)
    model = ResNet()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=6000)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    order = batches(torch, 64, 16)

    def step():
        rows = next(order)
        loss = criterion(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    return step


def unet(torch):
    nn = torch.nn

    def double(inputs, outputs):
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1, padding_mode="reflect"),
            nn.GroupNorm(2, outputs),
            nn.ReLU(inplace=True),
        )

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down1, self.down2, self.middle = double(1, 8), double(8, 16), double(16, 32)
            self.pool, self.drop = nn.MaxPool2d(2), nn.Dropout2d(0.1)
            self.up2, self.up1 = (nn.ConvTranspose2d(2 * n, n, 2, stride=2) for n in (16, 8))
            self.join2, self.join1 = double(32, 16), double(16, 8)
            self.out = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            first = self.down1(x)
            second = self.down2(self.pool(first))
            x = self.up2(self.drop(self.middle(self.pool(second))))
            x = self.up1(self.join2(torch.cat([x, second], dim=1)))
            return self.out(self.join1(torch.cat([x, first], dim=1)))

    def dice(scores, target):
        p = torch.sigmoid(scores).flatten(1)
        t = target.flatten(1)
        return (1 - (2 * (p * t).sum(1) + 1) / (p.sum(1) + t.sum(1) + 1)).mean()

    torch.manual_seed(2)
    x, _ = pictures(torch, 16, 1, 16, 4)
    mask = torch.where(x > 0.8, 1.0, 0.0).to(x.dtype)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0]))
    order = batches(torch, 16, 8)

    def step():
        rows = next(order)
        optimizer.zero_grad(set_to_none=True)
        scores = model(x[rows])
        loss = criterion(scores, mask[rows]) + dice(scores, mask[rows])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        optimizer.step()
        return loss.item()

    return step
