-- AlterTable
ALTER TABLE "Broker" ADD COLUMN "maxClients" INTEGER;
ALTER TABLE "Broker" ADD COLUMN "maxConnections" INTEGER;

-- AlterTable
ALTER TABLE "BrokerListener" ADD COLUMN "protocolLevels" TEXT;
ALTER TABLE "BrokerListener" ADD COLUMN "proxyProtocol" INTEGER;
