-- AlterTable
ALTER TABLE "Cluster" ADD COLUMN     "seed" INTEGER;

-- AlterTable
ALTER TABLE "ProjectToken" ADD COLUMN     "previousHash" TEXT,
ADD COLUMN     "previousValidUntil" TIMESTAMP(3);

-- AlterTable
ALTER TABLE "Session" ADD COLUMN     "address" TEXT,
ADD COLUMN     "provider" TEXT;

-- AlterTable
ALTER TABLE "User" ADD COLUMN     "totpSecret" TEXT,
ADD COLUMN     "totpSince" TIMESTAMP(3),
ADD COLUMN     "totpStep" INTEGER;

-- CreateTable
CREATE TABLE "RecoveryCode" (
    "userId" TEXT NOT NULL,
    "codeHash" TEXT NOT NULL,

    CONSTRAINT "RecoveryCode_pkey" PRIMARY KEY ("userId","codeHash")
);

-- CreateTable
CREATE TABLE "Identity" (
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "claims" TEXT NOT NULL DEFAULT '{}',
    "checkedAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sealedRefresh" TEXT,

    CONSTRAINT "Identity_pkey" PRIMARY KEY ("provider","subject")
);

-- CreateTable
CREATE TABLE "SignInRule" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "claimPath" TEXT NOT NULL,
    "pattern" TEXT NOT NULL,
    "role" "ProjectRole" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "SignInRule_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "SignInAttempt" (
    "secretHash" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "sealed" TEXT NOT NULL,
    "expiresAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "SignInAttempt_pkey" PRIMARY KEY ("secretHash")
);

-- CreateTable
CREATE TABLE "AuditEntry" (
    "sequence" INTEGER NOT NULL,
    "id" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
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
    "hash" TEXT NOT NULL,

    CONSTRAINT "AuditEntry_pkey" PRIMARY KEY ("sequence")
);

-- CreateTable
CREATE TABLE "AuditMark" (
    "name" TEXT NOT NULL,
    "sequence" INTEGER NOT NULL,
    "hash" TEXT NOT NULL,
    "seal" TEXT NOT NULL,

    CONSTRAINT "AuditMark_pkey" PRIMARY KEY ("name")
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

-- AddForeignKey
ALTER TABLE "RecoveryCode" ADD CONSTRAINT "RecoveryCode_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Identity" ADD CONSTRAINT "Identity_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "SignInRule" ADD CONSTRAINT "SignInRule_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
