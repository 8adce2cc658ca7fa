-- CreateTable
CREATE TABLE "NotificationChannel" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "projectId" TEXT,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "isActive" BOOLEAN NOT NULL DEFAULT true,
    "rules" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "sealedTarget" TEXT,
    "trustedUrl" BOOLEAN NOT NULL DEFAULT false,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" DATETIME NOT NULL,
    CONSTRAINT "NotificationChannel_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "WaitingNotice" (
    "channelId" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "problemId" TEXT NOT NULL,
    "notice" TEXT NOT NULL,
    "dueAt" DATETIME NOT NULL,

    PRIMARY KEY ("channelId", "sequence"),
    CONSTRAINT "WaitingNotice_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "NotificationChannel" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "NotificationDelivery" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "channelId" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'PENDING',
    "content" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "startedAt" DATETIME,
    "nextAttemptAt" DATETIME NOT NULL,
    "lastAttemptAt" DATETIME,
    "responseStatus" INTEGER,
    "response" TEXT,
    "error" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "endedAt" DATETIME,
    CONSTRAINT "NotificationDelivery_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "NotificationChannel" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "NotificationPosition" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "sequence" INTEGER NOT NULL
);

-- CreateIndex
CREATE INDEX "NotificationChannel_projectId_idx" ON "NotificationChannel"("projectId");

-- CreateIndex
CREATE INDEX "WaitingNotice_channelId_dueAt_idx" ON "WaitingNotice"("channelId", "dueAt");

-- CreateIndex
CREATE INDEX "NotificationDelivery_channelId_state_number_idx" ON "NotificationDelivery"("channelId", "state", "number");

-- CreateIndex
CREATE UNIQUE INDEX "NotificationDelivery_channelId_number_key" ON "NotificationDelivery"("channelId", "number");
