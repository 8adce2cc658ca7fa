-- AlterTable
ALTER TABLE "Cluster" ADD COLUMN "seed" INTEGER;

-- AlterTable
ALTER TABLE "ProjectToken" ADD COLUMN "previousHash" TEXT;
ALTER TABLE "ProjectToken" ADD COLUMN "previousValidUntil" DATETIME;

-- AlterTable
ALTER TABLE "Session" ADD COLUMN "address" TEXT;
ALTER TABLE "Session" ADD COLUMN "provider" TEXT;

-- AlterTable
ALTER TABLE "User" ADD COLUMN "totpSecret" TEXT;
ALTER TABLE "User" ADD COLUMN "totpSince" DATETIME;
ALTER TABLE "User" ADD COLUMN "totpStep" INTEGER;

-- CreateTable
CREATE TABLE "RecoveryCode" (
    "userId" TEXT NOT NULL,
    "codeHash" TEXT NOT NULL,

    PRIMARY KEY ("userId", "codeHash"),
    CONSTRAINT "RecoveryCode_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Identity" (
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "claims" TEXT NOT NULL DEFAULT '{}',
    "checkedAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sealedRefresh" TEXT,

    PRIMARY KEY ("provider", "subject"),
    CONSTRAINT "Identity_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "SignInRule" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "projectId" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "claimPath" TEXT NOT NULL,
    "pattern" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "SignInRule_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "SignInAttempt" (
    "secretHash" TEXT NOT NULL PRIMARY KEY,
    "provider" TEXT NOT NULL,
    "sealed" TEXT NOT NULL,
    "expiresAt" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "AuditEntry" (
    "sequence" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "id" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "actorKind" TEXT NOT NULL,
    "actorId" TEXT,
    "actorName" TEXT,
    "actorIssuer" TEXT,
    "address" TEXT NOT NULL,
    "requestId" TEXT NOT NULL,
    "via" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "projectId" TEXT,
    "brokerId" TEXT,
    "targetKind" TEXT,
    "targetId" TEXT,
    "before" TEXT,
    "after" TEXT,
    "result" TEXT NOT NULL,
    "code" TEXT,
    "previousHash" TEXT NOT NULL,
    "hash" TEXT NOT NULL
);

-- CreateTable
CREATE TABLE "AuditMark" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "sequence" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "seal" TEXT NOT NULL
);

-- CreateIndex
CREATE INDEX "Identity_userId_idx" ON "Identity"("userId");

-- CreateIndex
CREATE INDEX "SignInRule_projectId_idx" ON "SignInRule"("projectId");

-- CreateIndex
CREATE INDEX "SignInAttempt_expiresAt_idx" ON "SignInAttempt"("expiresAt");

-- CreateIndex
CREATE UNIQUE INDEX "AuditEntry_id_key" ON "AuditEntry"("id");

-- CreateIndex
CREATE INDEX "AuditEntry_at_idx" ON "AuditEntry"("at");

-- CreateIndex
CREATE INDEX "AuditEntry_projectId_sequence_idx" ON "AuditEntry"("projectId", "sequence");

-- CreateIndex
CREATE INDEX "AuditEntry_actorId_sequence_idx" ON "AuditEntry"("actorId", "sequence");

-- CreateIndex
CREATE INDEX "AuditEntry_targetId_sequence_idx" ON "AuditEntry"("targetId", "sequence");

-- CreateIndex
CREATE UNIQUE INDEX "ProjectToken_previousHash_key" ON "ProjectToken"("previousHash");
