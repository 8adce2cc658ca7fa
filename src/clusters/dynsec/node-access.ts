import type { AccessControlService } from '../../access-control/access-control-service.ts';

/** What is done with the access control of one node. */
export type NodeAccess = Pick<AccessControlService, 'write' | 'exportDocument' | 'importDocument' | 'differences'>;
