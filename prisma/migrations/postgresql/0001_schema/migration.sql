-- Replaces the migrations until 0018_message_batches, whose state is 65c0753167a3c3c5b8e181e9a73771d2c2192e5a0f5bf275ee833c057535d840.

-- CreateEnum
CREATE TYPE "ProjectRole" AS ENUM ('ADMIN', 'EDITOR', 'VIEWER');

-- CreateEnum
CREATE TYPE "OrganisationRole" AS ENUM ('OWNER', 'MEMBER');

-- CreateEnum
CREATE TYPE "BrokerType" AS ENUM ('CLOUD', 'SELF_HOSTED', 'ON_PREMISE_SETUP');

-- CreateEnum
CREATE TYPE "ClusterMode" AS ENUM ('FULL', 'DYNSEC', 'HP');

-- CreateEnum
CREATE TYPE "CloudBrokerState" AS ENUM ('ACTIVE', 'INACTIVE', 'NEW', 'PROVISIONING', 'UPDATING', 'ERROR', 'STOPPING_PAYMENT', 'PAYMENT_STOPPED', 'SHUTTING_DOWN');

-- CreateEnum
CREATE TYPE "CloudBrokerTargetState" AS ENUM ('ACTIVE', 'INACTIVE');

-- CreateEnum
CREATE TYPE "ListenerProtocol" AS ENUM ('MQTT', 'WEBSOCKET');

-- CreateEnum
CREATE TYPE "TokenType" AS ENUM ('RESTRICTED', 'UNRESTRICTED');

-- CreateEnum
CREATE TYPE "JobKind" AS ENUM ('STREAM_REPLAY', 'RETAINED_DELETION');

-- CreateEnum
CREATE TYPE "JobState" AS ENUM ('RUNNING', 'PAUSED', 'DONE', 'STOPPED', 'FAILED');

-- CreateEnum
CREATE TYPE "ProcessRole" AS ENUM ('ALL', 'API', 'WORKER');

-- CreateTable
CREATE TABLE "User" (
    "id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "passwordHash" TEXT,
    "isRoot" BOOLEAN NOT NULL DEFAULT false,
    "verified" BOOLEAN NOT NULL DEFAULT false,
    "ssoType" TEXT,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "totpSecret" TEXT,
    "totpSince" TIMESTAMP(3),
    "totpStep" INTEGER,

    CONSTRAINT "User_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "LoginFailure" (
    "key" TEXT NOT NULL,
    "account" TEXT,
    "count" INTEGER NOT NULL,
    "failedAt" TIMESTAMP(3) NOT NULL,
    "expiresAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "LoginFailure_pkey" PRIMARY KEY ("key")
);

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

-- CreateTable
CREATE TABLE "PendingChange" (
    "id" TEXT NOT NULL,
    "processId" TEXT NOT NULL,
    "begunAt" TIMESTAMP(3) NOT NULL,
    "entry" TEXT NOT NULL,
    "seal" TEXT NOT NULL,

    CONSTRAINT "PendingChange_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Session" (
    "id" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "tokenHash" TEXT NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expiresAt" TIMESTAMP(3) NOT NULL,
    "lastUsedAt" TIMESTAMP(3) NOT NULL,
    "address" TEXT,
    "provider" TEXT,

    CONSTRAINT "Session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "KnownNetwork" (
    "account" TEXT NOT NULL,
    "network" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "signedInAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "KnownNetwork_pkey" PRIMARY KEY ("account","network")
);

-- CreateTable
CREATE TABLE "Organisation" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Organisation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "OrganisationMember" (
    "organisationId" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "role" "OrganisationRole" NOT NULL DEFAULT 'MEMBER',
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "OrganisationMember_pkey" PRIMARY KEY ("organisationId","userId")
);

-- CreateTable
CREATE TABLE "Project" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "ownerUserId" TEXT,
    "ownerOrganisationId" TEXT,
    "strictRoles" BOOLEAN NOT NULL DEFAULT false,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "topicPayloads" BOOLEAN NOT NULL DEFAULT true,
    "clusterPasswords" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "Project_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ProjectMember" (
    "projectId" TEXT NOT NULL,
    "userId" TEXT NOT NULL,
    "role" "ProjectRole" NOT NULL,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "ProjectMember_pkey" PRIMARY KEY ("projectId","userId")
);

-- CreateTable
CREATE TABLE "Broker" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "type" "BrokerType" NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT,
    "url" TEXT,
    "ha" BOOLEAN NOT NULL DEFAULT false,
    "clusterMode" "ClusterMode",
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
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "canceledAt" TIMESTAMP(3),
    "issuedTo" TEXT,
    "productId" TEXT,
    "paymentSubscriptionItemId" TEXT,
    "periodStart" TIMESTAMP(3),
    "periodEnd" TIMESTAMP(3),
    "options" TEXT,
    "subdomain" TEXT,
    "zoneName" TEXT,
    "deployedAt" TIMESTAMP(3),
    "shutdownAt" TIMESTAMP(3),
    "location" TEXT,
    "state" "CloudBrokerState",
    "targetState" "CloudBrokerTargetState",
    "engine" TEXT,
    "clientTakeover" BOOLEAN NOT NULL DEFAULT false,
    "trustedUrl" BOOLEAN NOT NULL DEFAULT false,
    "awaySince" TIMESTAMP(3),
    "folderId" TEXT,
    "host" TEXT,
    "problem" TEXT,

    CONSTRAINT "Broker_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "BrokerListener" (
    "brokerId" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "protocol" "ListenerProtocol" NOT NULL,
    "port" INTEGER NOT NULL,
    "tls" BOOLEAN NOT NULL DEFAULT false,
    "requireCertificate" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "BrokerListener_pkey" PRIMARY KEY ("brokerId","number")
);

-- CreateTable
CREATE TABLE "Certificate" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "filename" TEXT NOT NULL,
    "cert" TEXT NOT NULL,
    "sealedKey" TEXT,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "Certificate_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "CertificateDeployment" (
    "certificateId" TEXT NOT NULL,
    "brokerId" TEXT NOT NULL,
    "port" INTEGER NOT NULL,
    "bindAddress" TEXT NOT NULL DEFAULT '',
    "deployedAt" TIMESTAMP(3),

    CONSTRAINT "CertificateDeployment_pkey" PRIMARY KEY ("certificateId","brokerId","port","bindAddress")
);

-- CreateTable
CREATE TABLE "Cluster" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "mode" "ClusterMode" NOT NULL,
    "keeper" TEXT NOT NULL,
    "document" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "writing" TEXT,
    "autoRepair" BOOLEAN NOT NULL DEFAULT false,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "Cluster_pkey" PRIMARY KEY ("id")
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

    CONSTRAINT "ClusterNode_pkey" PRIMARY KEY ("clusterId","nodeId")
);

-- CreateTable
CREATE TABLE "ClusterPassword" (
    "clusterId" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "sealedPassword" TEXT,

    CONSTRAINT "ClusterPassword_pkey" PRIMARY KEY ("clusterId","username")
);

-- CreateTable
CREATE TABLE "TopicTreeSettings" (
    "brokerId" TEXT NOT NULL,
    "settings" TEXT NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "TopicTreeSettings_pkey" PRIMARY KEY ("brokerId")
);

-- CreateTable
CREATE TABLE "BridgeConfig" (
    "brokerId" TEXT NOT NULL,
    "bridge" TEXT NOT NULL,
    "sealedConfig" TEXT NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "trustedAddresses" TEXT,

    CONSTRAINT "BridgeConfig_pkey" PRIMARY KEY ("brokerId","bridge")
);

-- CreateTable
CREATE TABLE "Stream" (
    "id" TEXT NOT NULL,
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
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Stream_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Job" (
    "id" TEXT NOT NULL,
    "kind" "JobKind" NOT NULL,
    "brokerId" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "runningKey" TEXT,
    "request" TEXT NOT NULL,
    "state" "JobState" NOT NULL,
    "attempt" INTEGER NOT NULL DEFAULT 1,
    "done" BIGINT NOT NULL DEFAULT 0,
    "total" BIGINT NOT NULL DEFAULT 0,
    "progress" TEXT,
    "problem" TEXT,
    "startedAt" TIMESTAMP(3) NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,
    "endedAt" TIMESTAMP(3),

    CONSTRAINT "Job_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "HostedCall" (
    "id" TEXT NOT NULL,
    "brokerId" TEXT NOT NULL,
    "api" TEXT NOT NULL,
    "command" TEXT NOT NULL,
    "answer" TEXT,
    "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "HostedCall_pkey" PRIMARY KEY ("id")
);

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
    "engines" TEXT NOT NULL DEFAULT '',
    "folderId" TEXT,

    CONSTRAINT "Process_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "DeletedCloudBroker" (
    "id" TEXT NOT NULL,
    "folderId" TEXT NOT NULL,

    CONSTRAINT "DeletedCloudBroker_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ProjectToken" (
    "id" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "tokenHash" TEXT NOT NULL,
    "role" "ProjectRole" NOT NULL,
    "type" "TokenType" NOT NULL DEFAULT 'UNRESTRICTED',
    "issuer" TEXT NOT NULL,
    "issuedAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "validUntil" TIMESTAMP(3),
    "lastUsedAt" TIMESTAMP(3),
    "previousHash" TEXT,
    "previousValidUntil" TIMESTAMP(3),

    CONSTRAINT "ProjectToken_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ProjectTokenBroker" (
    "tokenId" TEXT NOT NULL,
    "brokerId" TEXT NOT NULL,

    CONSTRAINT "ProjectTokenBroker_pkey" PRIMARY KEY ("tokenId","brokerId")
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

-- AddForeignKey
ALTER TABLE "RecoveryCode" ADD CONSTRAINT "RecoveryCode_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Identity" ADD CONSTRAINT "Identity_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "SignInRule" ADD CONSTRAINT "SignInRule_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Session" ADD CONSTRAINT "Session_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "KnownNetwork" ADD CONSTRAINT "KnownNetwork_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "OrganisationMember" ADD CONSTRAINT "OrganisationMember_organisationId_fkey" FOREIGN KEY ("organisationId") REFERENCES "Organisation"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "OrganisationMember" ADD CONSTRAINT "OrganisationMember_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Project" ADD CONSTRAINT "Project_ownerUserId_fkey" FOREIGN KEY ("ownerUserId") REFERENCES "User"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Project" ADD CONSTRAINT "Project_ownerOrganisationId_fkey" FOREIGN KEY ("ownerOrganisationId") REFERENCES "Organisation"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProjectMember" ADD CONSTRAINT "ProjectMember_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProjectMember" ADD CONSTRAINT "ProjectMember_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Broker" ADD CONSTRAINT "Broker_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BrokerListener" ADD CONSTRAINT "BrokerListener_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Certificate" ADD CONSTRAINT "Certificate_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CertificateDeployment" ADD CONSTRAINT "CertificateDeployment_certificateId_fkey" FOREIGN KEY ("certificateId") REFERENCES "Certificate"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CertificateDeployment" ADD CONSTRAINT "CertificateDeployment_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Cluster" ADD CONSTRAINT "Cluster_id_fkey" FOREIGN KEY ("id") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ClusterNode" ADD CONSTRAINT "ClusterNode_clusterId_fkey" FOREIGN KEY ("clusterId") REFERENCES "Cluster"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ClusterNode" ADD CONSTRAINT "ClusterNode_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ClusterPassword" ADD CONSTRAINT "ClusterPassword_clusterId_fkey" FOREIGN KEY ("clusterId") REFERENCES "Cluster"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "TopicTreeSettings" ADD CONSTRAINT "TopicTreeSettings_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BridgeConfig" ADD CONSTRAINT "BridgeConfig_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Stream" ADD CONSTRAINT "Stream_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Job" ADD CONSTRAINT "Job_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProjectToken" ADD CONSTRAINT "ProjectToken_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ProjectTokenBroker" ADD CONSTRAINT "ProjectTokenBroker_tokenId_fkey" FOREIGN KEY ("tokenId") REFERENCES "ProjectToken"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A trigger, because projects delete their brokers by a foreign key.
CREATE FUNCTION "note_deleted_cloud_broker"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('INSERT INTO %I."DeletedCloudBroker" ("id", "folderId") VALUES ($1, $2) ON CONFLICT DO NOTHING',
        TG_TABLE_SCHEMA) USING OLD."id", OLD."folderId";
    RETURN NULL;
END $$;
CREATE TRIGGER "cloud_broker_deleted" AFTER DELETE ON "Broker"
    FOR EACH ROW WHEN (OLD."folderId" IS NOT NULL) EXECUTE FUNCTION "note_deleted_cloud_broker"();

-- Stored messages of streams: see decision 0034. The schema "messages" is not in prisma/schema.prisma, which describes
-- the schema "public" only.
CREATE SCHEMA "messages";

-- A number for each stream with stored messages, because it is part of every row and of the index. "last" is the id of
-- the last message ever stored: ids of later messages are higher, whichever process stores them.
CREATE TABLE "messages"."stream" (
    "number" INTEGER GENERATED ALWAYS AS IDENTITY,
    "id" TEXT NOT NULL,
    "broker" TEXT NOT NULL,
    "last" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "stream_pkey" PRIMARY KEY ("number")
);
CREATE UNIQUE INDEX "stream_id_key" ON "messages"."stream" ("id");
CREATE INDEX "stream_broker_idx" ON "messages"."stream" ("broker");

-- Messages of one segment that arrived within a tenth of a second. "id" and "last" are the ids of the first and the
-- last, in epoch microseconds, and "bytes" is the size of all payloads. "width" is how long the partitions of the
-- stream are, in seconds; 0: its messages do not expire.
CREATE TABLE "messages"."stream_batch" (
    "stream" INTEGER NOT NULL,
    "width" INTEGER NOT NULL,
    "id" BIGINT NOT NULL,
    "last" BIGINT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "ids" BIGINT[] NOT NULL,
    "qos" SMALLINT[] NOT NULL,
    "topics" TEXT[] NOT NULL,
    "payloads" BYTEA[] NOT NULL,

    CONSTRAINT "stream_batch_pkey" PRIMARY KEY ("stream", "id", "width")
) PARTITION BY RANGE ("width", "id");

-- What is stored, so that it is known without reading the messages. A segment is part of one partition.
CREATE TABLE "messages"."stream_segment" (
    "stream" INTEGER NOT NULL REFERENCES "messages"."stream" ("number") ON DELETE CASCADE,
    "base" BIGINT NOT NULL,
    "width" INTEGER NOT NULL,
    "messages" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "first" BIGINT NOT NULL,
    "last" BIGINT NOT NULL,

    CONSTRAINT "stream_segment_pkey" PRIMARY KEY ("stream", "base")
);
CREATE INDEX "stream_segment_partition_idx" ON "messages"."stream_segment" ("width", "base");

-- Queues of bridges: see decision 0035.

-- "name" is a hash of the name in the bridge. Only its owner in its current turn changes the messages of a queue.
CREATE TABLE "messages"."bridge_queue" (
    "id" BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
    "broker" TEXT NOT NULL,
    "bridge" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "turn" BIGINT NOT NULL,

    CONSTRAINT "bridge_queue_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "bridge_queue_broker_fkey" FOREIGN KEY ("broker") REFERENCES "public"."Broker" ("id") ON DELETE CASCADE
);
CREATE UNIQUE INDEX "bridge_queue_name_key" ON "messages"."bridge_queue" ("broker", "bridge", "name");

-- "topic" is UTF-8, which may contain what "text" refuses. "flags": the QoS, and 4 for a retained message.
CREATE TABLE "messages"."bridge_message" (
    "queue" BIGINT NOT NULL,
    "id" BIGINT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "flags" SMALLINT NOT NULL,
    "received_at" BIGINT NOT NULL,
    "topic" BYTEA NOT NULL,
    "properties" BYTEA,
    "payload" BYTEA NOT NULL,

    CONSTRAINT "bridge_message_pkey" PRIMARY KEY ("queue", "id")
);

-- Instead of a foreign key of the messages, which would be checked for each message.
CREATE FUNCTION "messages"."delete_bridge_messages"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM "messages"."bridge_message" WHERE "queue" = OLD."id";
    RETURN NULL;
END $$;
CREATE TRIGGER "bridge_queue_deleted" AFTER DELETE ON "messages"."bridge_queue"
    FOR EACH ROW EXECUTE FUNCTION "messages"."delete_bridge_messages"();
