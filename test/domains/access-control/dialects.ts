import type { AccessDialect } from '../../../src/domains/access-control/policy/access-model.ts';
import { dialectOf } from '../../../src/domains/access-control/reading/dynsec-control.ts';

export const MOSQUITTO_2_0: AccessDialect = dialectOf(null, 'mosquitto version 2.0.11');
export const MOSQUITTO_2_1: AccessDialect = dialectOf({ changeIndex: 0 }, 'mosquitto version 2.1.2');
