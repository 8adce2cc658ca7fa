-- AlterTable
ALTER TABLE "Project" ADD COLUMN "clusterPasswords" BOOLEAN NOT NULL DEFAULT false;

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

-- CreateIndex
CREATE UNIQUE INDEX "ClusterNode_brokerId_key" ON "ClusterNode"("brokerId");
