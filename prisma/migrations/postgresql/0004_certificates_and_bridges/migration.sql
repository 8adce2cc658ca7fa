-- CreateEnum
CREATE TYPE "ListenerProtocol" AS ENUM ('MQTT', 'WEBSOCKET');

-- DropTable
DROP TABLE "StreamCall";

-- CreateTable
CREATE TABLE "BrokerListener" (
    "brokerId" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "protocol" "ListenerProtocol" NOT NULL,
    "port" INTEGER NOT NULL,
    "tls" BOOLEAN NOT NULL DEFAULT false,
    "requireCertificate" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "BrokerListener_pkey" PRIMARY KEY ("brokerId", "number")
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

    CONSTRAINT "CertificateDeployment_pkey" PRIMARY KEY ("certificateId", "brokerId", "port", "bindAddress")
);

-- CreateTable
CREATE TABLE "BridgeConfig" (
    "brokerId" TEXT NOT NULL,
    "bridge" TEXT NOT NULL,
    "sealedConfig" TEXT NOT NULL,
    "updatedAt" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "BridgeConfig_pkey" PRIMARY KEY ("brokerId", "bridge")
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

-- The listeners that there are
INSERT INTO "BrokerListener" ("brokerId", "number", "protocol", "port")
SELECT "id", 1, 'MQTT'::"ListenerProtocol", "mqttPort" FROM "Broker" WHERE "mqttPort" IS NOT NULL;
INSERT INTO "BrokerListener" ("brokerId", "number", "protocol", "port")
SELECT "id", 2, 'WEBSOCKET'::"ListenerProtocol", "mqttWsPort" FROM "Broker" WHERE "mqttWsPort" IS NOT NULL;

-- AlterTable
ALTER TABLE "Broker" DROP COLUMN "mqttPort";
ALTER TABLE "Broker" DROP COLUMN "mqttWsPort";

-- CreateIndex
CREATE UNIQUE INDEX "Certificate_projectId_filename_key" ON "Certificate"("projectId", "filename");

-- CreateIndex
CREATE INDEX "CertificateDeployment_brokerId_idx" ON "CertificateDeployment"("brokerId");

-- CreateIndex
CREATE INDEX "HostedCall_createdAt_idx" ON "HostedCall"("createdAt");

-- AddForeignKey
ALTER TABLE "BrokerListener" ADD CONSTRAINT "BrokerListener_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Certificate" ADD CONSTRAINT "Certificate_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CertificateDeployment" ADD CONSTRAINT "CertificateDeployment_certificateId_fkey" FOREIGN KEY ("certificateId") REFERENCES "Certificate"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "CertificateDeployment" ADD CONSTRAINT "CertificateDeployment_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BridgeConfig" ADD CONSTRAINT "BridgeConfig_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker"("id") ON DELETE CASCADE ON UPDATE CASCADE;
