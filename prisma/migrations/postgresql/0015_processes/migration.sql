-- CreateEnum
CREATE TYPE "ProcessRole" AS ENUM ('ALL', 'API', 'WORKER');

-- CreateTable
CREATE TABLE "Process" (
    "id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "role" "ProcessRole" NOT NULL,
    "share" DOUBLE PRECISION NOT NULL,
    "isDraining" BOOLEAN NOT NULL DEFAULT false,
    "brokers" INTEGER NOT NULL,
    "messagesPerSecond" DOUBLE PRECISION NOT NULL,
    "startedAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seenAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Process_pkey" PRIMARY KEY ("id")
);
