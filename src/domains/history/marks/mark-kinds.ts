/** What changed at a mark, by the operation of its audit entry. Operations that are not here have no mark. */
export const MARK_KINDS = ['DEPLOYMENT', 'RESTART', 'ACCESS', 'DISCONNECT', 'CERTIFICATE'] as const;

export type MarkKind = (typeof MARK_KINDS)[number];

const OPERATIONS: Readonly<Record<MarkKind, readonly string[]>> = {
  DEPLOYMENT: [
    ...['addBroker', 'createCloudBroker', 'updateBroker', 'deleteBroker'],
    ...['addListener', 'updateListener', 'removeListener', 'updateBridgeConfig', 'updateTopicTree', 'setTopicTtl'],
    ...['createStream', 'updateStream', 'enableStream', 'disableStream', 'deleteStream'],
    ...['createCluster', 'updateCluster', 'joinCluster', 'leaveCluster', 'deleteCluster', 'deleteClusters'],
  ],
  RESTART: ['setTargetState'],
  ACCESS: [
    ...['applyAccessControl', 'changeAccessControl', 'copyAccounts', 'repairClusterNode'],
    ...['setAnonymousGroup', 'setDefaultAcl'],
    ...['createAccount', 'updateAccount', 'putAccount', 'deleteAccount', 'setAccountEnabled', 'setAccountPassword'],
    ...['addAccountGroup', 'removeAccountGroup', 'addAccountRole', 'removeAccountRole'],
    ...['createAccessGroup', 'updateAccessGroup', 'putAccessGroup', 'deleteAccessGroup'],
    ...['createAccessRole', 'updateAccessRole', 'putAccessRole', 'deleteAccessRole', 'putAclRule', 'removeAclRule'],
    ...['addAccessGroupRole', 'removeAccessGroupRole'],
  ],
  DISCONNECT: ['disconnectClient', 'disconnectClients'],
  CERTIFICATE: [
    ...['createCertificate', 'updateCertificate', 'deleteCertificate', 'deployCertificate', 'undeployCertificate'],
  ],
};

const KIND_OF: ReadonlyMap<string, MarkKind> = new Map(
  MARK_KINDS.flatMap((kind) => OPERATIONS[kind].map((operation) => [operation, kind] as const)),
);

export const operationsOf = (kinds: readonly MarkKind[]): string[] => kinds.flatMap((kind) => OPERATIONS[kind]);

/** `null` for an operation without a mark. */
export const kindOf = (operation: string): MarkKind | null => KIND_OF.get(operation) ?? null;
