-- DropIndex
DROP INDEX "StreamCall_createdAt_idx";

-- DropTable
DROP TABLE "StreamCall";

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
CREATE TABLE "BridgeConfig" (
    "brokerId" TEXT NOT NULL,
    "bridge" TEXT NOT NULL,
    "sealedConfig" TEXT NOT NULL,
    "updatedAt" DATETIME NOT NULL,

    PRIMARY KEY ("brokerId", "bridge"),
    CONSTRAINT "BridgeConfig_brokerId_fkey" FOREIGN KEY ("brokerId") REFERENCES "Broker" ("id") ON DELETE CASCADE ON UPDATE CASCADE
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

-- The listeners that there are
INSERT INTO "BrokerListener" ("brokerId", "number", "protocol", "port")
SELECT "id", 1, 'MQTT', "mqttPort" FROM "Broker" WHERE "mqttPort" IS NOT NULL;
INSERT INTO "BrokerListener" ("brokerId", "number", "protocol", "port")
SELECT "id", 2, 'WEBSOCKET', "mqttWsPort" FROM "Broker" WHERE "mqttWsPort" IS NOT NULL;

-- AlterTable: columns are dropped in place, because a table that is made anew takes with it what refers to it
ALTER TABLE "Broker" DROP COLUMN "mqttPort";
ALTER TABLE "Broker" DROP COLUMN "mqttWsPort";

-- CreateIndex
CREATE UNIQUE INDEX "Certificate_projectId_filename_key" ON "Certificate"("projectId", "filename");

-- CreateIndex
CREATE INDEX "CertificateDeployment_brokerId_idx" ON "CertificateDeployment"("brokerId");

-- CreateIndex
CREATE INDEX "HostedCall_createdAt_idx" ON "HostedCall"("createdAt");
