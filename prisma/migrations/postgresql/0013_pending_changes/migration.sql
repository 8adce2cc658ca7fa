-- CreateTable
CREATE TABLE "PendingChange" (
    "id" TEXT NOT NULL,
    "processId" TEXT NOT NULL,
    "begunAt" TIMESTAMP(3) NOT NULL,
    "entry" TEXT NOT NULL,
    "seal" TEXT NOT NULL,

    CONSTRAINT "PendingChange_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "PendingChange_processId_idx" ON "PendingChange"("processId");
