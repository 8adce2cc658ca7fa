-- AlterTable
ALTER TABLE "Broker" ADD COLUMN     "maxClients" INTEGER,
ADD COLUMN     "maxConnections" INTEGER;

-- AlterTable
ALTER TABLE "BrokerListener" ADD COLUMN     "protocolLevels" TEXT,
ADD COLUMN     "proxyProtocol" INTEGER;
