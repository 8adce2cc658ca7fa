-- CreateEnum
CREATE TYPE "NotificationKind" AS ENUM ('WEBHOOK', 'EMAIL', 'MQTT');

-- CreateEnum
CREATE TYPE "DeliveryState" AS ENUM ('PENDING', 'DELIVERED', 'DEAD');

-- CreateTable
CREATE TABLE "NotificationChannel" (
    "id" TEXT NOT NULL,
    "projectId" TEXT,
    "kind" "NotificationKind" NOT NULL,
    "name" TEXT NOT NULL,
    "isActive" BOOLEAN NOT NULL DEFAULT true,
    "rules" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "sealedTarget" TEXT,
    "trustedUrl" BOOLEAN NOT NULL DEFAULT false,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "NotificationChannel_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "WaitingNotice" (
    "channelId" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "problemId" TEXT NOT NULL,
    "notice" TEXT NOT NULL,
    "dueAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "WaitingNotice_pkey" PRIMARY KEY ("channelId","sequence")
);

-- CreateTable
CREATE TABLE "NotificationDelivery" (
    "id" TEXT NOT NULL,
    "channelId" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "state" "DeliveryState" NOT NULL DEFAULT 'PENDING',
    "content" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "startedAt" TIMESTAMP(3),
    "nextAttemptAt" TIMESTAMP(3) NOT NULL,
    "lastAttemptAt" TIMESTAMP(3),
    "responseStatus" INTEGER,
    "response" TEXT,
    "error" TEXT,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "endedAt" TIMESTAMP(3),

    CONSTRAINT "NotificationDelivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "NotificationPosition" (
    "id" INTEGER NOT NULL,
    "sequence" INTEGER NOT NULL,

    CONSTRAINT "NotificationPosition_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "NotificationChannel_projectId_idx" ON "NotificationChannel"("projectId");

-- CreateIndex
CREATE INDEX "WaitingNotice_channelId_dueAt_idx" ON "WaitingNotice"("channelId", "dueAt");

-- CreateIndex
CREATE INDEX "NotificationDelivery_channelId_state_number_idx" ON "NotificationDelivery"("channelId", "state", "number");

-- CreateIndex
CREATE UNIQUE INDEX "NotificationDelivery_channelId_number_key" ON "NotificationDelivery"("channelId", "number");

-- AddForeignKey
ALTER TABLE "NotificationChannel" ADD CONSTRAINT "NotificationChannel_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "WaitingNotice" ADD CONSTRAINT "WaitingNotice_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "NotificationChannel"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "NotificationDelivery" ADD CONSTRAINT "NotificationDelivery_channelId_fkey" FOREIGN KEY ("channelId") REFERENCES "NotificationChannel"("id") ON DELETE CASCADE ON UPDATE CASCADE;
