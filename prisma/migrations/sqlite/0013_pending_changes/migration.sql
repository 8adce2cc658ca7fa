-- CreateTable
CREATE TABLE "PendingChange" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "processId" TEXT NOT NULL,
    "begunAt" DATETIME NOT NULL,
    "entry" TEXT NOT NULL,
    "seal" TEXT NOT NULL
);

-- CreateIndex
CREATE INDEX "PendingChange_processId_idx" ON "PendingChange"("processId");
