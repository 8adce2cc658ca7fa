-- CreateTable
CREATE TABLE "Stream" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "brokerId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "sourceTopic" TEXT NOT NULL,
    "targetTopic" TEXT,
    "targetQos" INTEGER NOT NULL,
    "ttl" INTEGER NOT NULL,
    "active" BOOLEAN NOT NULL,
    "process" BOOLEAN NOT NULL,
    "persist" BOOLEAN NOT NULL,
    "key" TEXT,
    "query" TEXT NOT NULL,
    "textName" TEXT,
    "textDescription" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "Stream_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "StreamCall" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "brokerId" TEXT NOT NULL,
    "command" TEXT NOT NULL,
    "answer" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- CreateIndex
CREATE UNIQUE INDEX "Stream_brokerId_name_key" ON "Stream"("brokerId", "name");

-- CreateIndex
CREATE INDEX "StreamCall_createdAt_idx" ON "StreamCall"("createdAt");
