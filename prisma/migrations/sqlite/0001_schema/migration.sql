-- Replaces the migrations until 0017_cloud_broker_folders, whose state is cdafc7b01112636e274e00b5821af97e8f514910f28a4e29ae304f33acb3905e.

-- CreateTable
CREATE TABLE "User" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "passwordHash" TEXT,
    "isRoot" BOOLEAN NOT NULL DEFAULT false,
    "verified" BOOLEAN NOT NULL DEFAULT false,
    "ssoType" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" DATETIME NOT NULL,
    "totpSecret" TEXT,
    "totpSince" DATETIME,
    "totpStep" INTEGER
);

-- CreateTable
CREATE TABLE "LoginFailure" (
    "key" TEXT NOT NULL PRIMARY KEY,
    "account" TEXT,
    "count" INTEGER NOT NULL,
    "failedAt" DATETIME NOT NULL,
    "expiresAt" DATETIME NOT NULL
);

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

-- CreateTable
CREATE TABLE "PendingChange" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "processId" TEXT NOT NULL,
    "begunAt" DATETIME NOT NULL,
    "entry" TEXT NOT NULL,
    "seal" TEXT NOT NULL
);

-- CreateTable
CREATE TABLE "Session" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "userId" TEXT NOT NULL,
    "tokenHash" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" DATETIME NOT NULL,
    "lastUsedAt" DATETIME NOT NULL,
    "address" TEXT,
    "provider" TEXT,

    CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "KnownNetwork" (
    "account" TEXT NOT NULL,
    "network" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "signedInAt" DATETIME NOT NULL,

    PRIMARY KEY ("account", "network"),
    CONSTRAINT "KnownNetwork_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Organisation" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- CreateTable
CREATE TABLE "OrganisationMember" (
    "organisationId" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "role" TEXT NOT NULL DEFAULT 'MEMBER',
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,

    PRIMARY KEY ("organisationId", "userId"),
    CONSTRAINT "OrganisationMember_organisationId_fkey" FOREIGN KEY ("organisationId") REFERENCES "Organisation" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "OrganisationMember_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Project" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "ownerUserId" TEXT,
    "ownerOrganisationId" TEXT,
    "strictRoles" BOOLEAN NOT NULL DEFAULT false,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" DATETIME NOT NULL,
    "topicPayloads" BOOLEAN NOT NULL DEFAULT true,
    "clusterPasswords" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "Project_ownerUserId_fkey" FOREIGN KEY ("ownerUserId") REFERENCES "User" ("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "Project_ownerOrganisationId_fkey" FOREIGN KEY ("ownerOrganisationId") REFERENCES "Organisation" ("id") ON DELETE RESTRICT ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "ProjectMember" (
    "projectId" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,

    PRIMARY KEY ("projectId", "userId"),
    CONSTRAINT "ProjectMember_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "ProjectMember_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Broker" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "projectId" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "url" TEXT,
    "ha" BOOLEAN NOT NULL DEFAULT false,
    "clusterMode" TEXT,
    "metricsEnabled" BOOLEAN NOT NULL DEFAULT true,
    "username" TEXT,
    "sealedPassword" TEXT,
    "caCert" TEXT,
    "caCertFile" TEXT,
    "clientCert" TEXT,
    "clientCertFile" TEXT,
    "sealedClientKey" TEXT,
    "clientKeyFile" TEXT,
    "verifyCaCert" BOOLEAN NOT NULL DEFAULT true,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" DATETIME NOT NULL,
    "canceledAt" DATETIME,
    "issuedTo" TEXT,
    "productId" TEXT,
    "paymentSubscriptionItemId" TEXT,
    "periodStart" DATETIME,
    "periodEnd" DATETIME,
    "options" TEXT,
    "subdomain" TEXT,
    "zoneName" TEXT,
    "deployedAt" DATETIME,
    "shutdownAt" DATETIME,
    "location" TEXT,
    "state" TEXT,
    "targetState" TEXT,
    "engine" TEXT,
    "clientTakeover" BOOLEAN NOT NULL DEFAULT false,
    "trustedUrl" BOOLEAN NOT NULL DEFAULT false,
    "awaySince" DATETIME,
    "folderId" TEXT,
    "host" TEXT,
    "problem" TEXT,

    CONSTRAINT "Broker_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "BrokerListener" (
    "brokerId" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "protocol" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "tls" BOOLEAN NOT NULL DEFAULT false,
    "requireCertificate" BOOLEAN NOT NULL DEFAULT false,

    PRIMARY KEY ("brokerId", "number"),
    CONSTRAINT "BrokerListener_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Certificate" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "filename" TEXT NOT NULL,
    "cert" TEXT NOT NULL,
    "sealedKey" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" DATETIME NOT NULL,

    CONSTRAINT "Certificate_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "CertificateDeployment" (
    "certificateId" TEXT NOT NULL,
    "brokerId" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "bindAddress" TEXT NOT NULL DEFAULT '',
    "deployedAt" DATETIME,

    PRIMARY KEY ("certificateId", "brokerId", "port", "bindAddress"),
    CONSTRAINT "CertificateDeployment_certificateId_fkey" FOREIGN KEY ("certificateId") REFERENCES "Certificate" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "CertificateDeployment_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "Cluster" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "mode" TEXT NOT NULL,
    "keeper" TEXT NOT NULL,
    "document" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "writing" TEXT,
    "autoRepair" BOOLEAN NOT NULL DEFAULT false,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" DATETIME NOT NULL,

    CONSTRAINT "Cluster_id_fkey" FOREIGN KEY ("id") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "ClusterNode" (
    "clusterId" TEXT NOT NULL,
    "nodeId" INTEGER NOT NULL,
    "brokerId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "revision" INTEGER,
    "missingPasswords" TEXT NOT NULL DEFAULT '[]',

    PRIMARY KEY ("clusterId", "nodeId"),
    CONSTRAINT "ClusterNode_clusterId_fkey" FOREIGN KEY ("clusterId") REFERENCES "Cluster" ("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "ClusterNode_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "ClusterPassword" (
    "clusterId" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "sealedPassword" TEXT,

    PRIMARY KEY ("clusterId", "username"),
    CONSTRAINT "ClusterPassword_clusterId_fkey" FOREIGN KEY ("clusterId") REFERENCES "Cluster" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "TopicTreeSettings" (
    "brokerId" TEXT NOT NULL PRIMARY KEY,
    "settings" TEXT NOT NULL,
    "updatedAt" DATETIME NOT NULL,

    CONSTRAINT "TopicTreeSettings_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "BridgeConfig" (
    "brokerId" TEXT NOT NULL,
    "bridge" TEXT NOT NULL,
    "sealedConfig" TEXT NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "trustedAddresses" TEXT,

    PRIMARY KEY ("brokerId", "bridge"),
    CONSTRAINT "BridgeConfig_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

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
CREATE TABLE "Job" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "kind" TEXT NOT NULL,
    "brokerId" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "runningKey" TEXT,
    "request" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 1,
    "done" BIGINT NOT NULL DEFAULT 0,
    "total" BIGINT NOT NULL DEFAULT 0,
    "progress" TEXT,
    "problem" TEXT,
    "startedAt" DATETIME NOT NULL,
    "updatedAt" DATETIME NOT NULL,
    "endedAt" DATETIME,

    CONSTRAINT "Job_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "HostedCall" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "brokerId" TEXT NOT NULL,
    "api" TEXT NOT NULL,
    "command" TEXT NOT NULL,
    "answer" TEXT,
    "createdAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
);

-- CreateTable
CREATE TABLE "Process" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "host" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "share" REAL NOT NULL,
    "isDraining" BOOLEAN NOT NULL DEFAULT false,
    "brokers" INTEGER NOT NULL,
    "messagesPerSecond" REAL NOT NULL,
    "startedAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seenAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "engines" TEXT NOT NULL DEFAULT '',
    "folderId" TEXT
);

-- CreateTable
CREATE TABLE "DeletedCloudBroker" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "folderId" TEXT NOT NULL
);

-- CreateTable
CREATE TABLE "ProjectToken" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "tokenHash" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "type" TEXT NOT NULL DEFAULT 'UNRESTRICTED',
    "issuer" TEXT NOT NULL,
    "issuedAt" DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "validUntil" DATETIME,
    "lastUsedAt" DATETIME,
    "previousHash" TEXT,
    "previousValidUntil" DATETIME,

    CONSTRAINT "ProjectToken_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "ProjectTokenBroker" (
    "tokenId" TEXT NOT NULL,
    "brokerId" TEXT NOT NULL,

    PRIMARY KEY ("tokenId", "brokerId"),
    CONSTRAINT "ProjectTokenBroker_tokenId_fkey" FOREIGN KEY ("tokenId") REFERENCES "ProjectToken" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE UNIQUE INDEX "User_email_key" ON "User"("email");

-- CreateIndex
CREATE INDEX "LoginFailure_account_idx" ON "LoginFailure"("account");

-- CreateIndex
CREATE INDEX "LoginFailure_failedAt_idx" ON "LoginFailure"("failedAt");

-- CreateIndex
CREATE INDEX "LoginFailure_expiresAt_idx" ON "LoginFailure"("expiresAt");

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
CREATE INDEX "PendingChange_processId_idx" ON "PendingChange"("processId");

-- CreateIndex
CREATE UNIQUE INDEX "Session_tokenHash_key" ON "Session"("tokenHash");

-- CreateIndex
CREATE INDEX "Session_userId_idx" ON "Session"("userId");

-- CreateIndex
CREATE INDEX "Session_expiresAt_idx" ON "Session"("expiresAt");

-- CreateIndex
CREATE INDEX "KnownNetwork_userId_idx" ON "KnownNetwork"("userId");

-- CreateIndex
CREATE UNIQUE INDEX "Organisation_name_key" ON "Organisation"("name");

-- CreateIndex
CREATE INDEX "OrganisationMember_userId_idx" ON "OrganisationMember"("userId");

-- CreateIndex
CREATE INDEX "Project_ownerUserId_idx" ON "Project"("ownerUserId");

-- CreateIndex
CREATE INDEX "Project_ownerOrganisationId_idx" ON "Project"("ownerOrganisationId");

-- CreateIndex
CREATE INDEX "ProjectMember_userId_idx" ON "ProjectMember"("userId");

-- CreateIndex
CREATE INDEX "Broker_projectId_idx" ON "Broker"("projectId");

-- CreateIndex
CREATE UNIQUE INDEX "Certificate_projectId_filename_key" ON "Certificate"("projectId", "filename");

-- CreateIndex
CREATE INDEX "CertificateDeployment_brokerId_idx" ON "CertificateDeployment"("brokerId");

-- CreateIndex
CREATE UNIQUE INDEX "ClusterNode_brokerId_key" ON "ClusterNode"("brokerId");

-- CreateIndex
CREATE UNIQUE INDEX "Stream_brokerId_name_key" ON "Stream"("brokerId", "name");

-- CreateIndex
CREATE UNIQUE INDEX "Job_runningKey_key" ON "Job"("runningKey");

-- CreateIndex
CREATE INDEX "Job_brokerId_id_idx" ON "Job"("brokerId", "id");

-- CreateIndex
CREATE INDEX "HostedCall_createdAt_idx" ON "HostedCall"("createdAt");

-- CreateIndex
CREATE INDEX "DeletedCloudBroker_folderId_idx" ON "DeletedCloudBroker"("folderId");

-- CreateIndex
CREATE UNIQUE INDEX "ProjectToken_tokenHash_key" ON "ProjectToken"("tokenHash");

-- CreateIndex
CREATE UNIQUE INDEX "ProjectToken_previousHash_key" ON "ProjectToken"("previousHash");

-- CreateIndex
CREATE INDEX "ProjectToken_projectId_idx" ON "ProjectToken"("projectId");

-- A trigger, because projects delete their brokers by a foreign key. A later migration that redefines "Broker" must
-- create it again.
CREATE TRIGGER "cloud_broker_deleted" AFTER DELETE ON "Broker" WHEN OLD."folderId" IS NOT NULL
BEGIN
    INSERT OR IGNORE INTO "DeletedCloudBroker" ("id", "folderId") VALUES (OLD."id", OLD."folderId");
END;
