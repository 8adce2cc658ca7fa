import type { AccessDialect } from '../../../src/protocol/apis/access-control/access-model.ts';
import { dialectOf } from '../../../src/protocol/apis/access-control/dynsec-control.ts';
import { sinceVersion } from '../../support/mosquitto.ts';

export const MOSQUITTO_2_0: AccessDialect = dialectOf(null, 'mosquitto version 2.0.11');
export const MOSQUITTO_2_1: AccessDialect = dialectOf({ changeIndex: 0 }, 'mosquitto version 2.1.2');

/** That of the Mosquitto of this run. */
export const mosquittoDialect = () => sinceVersion({ '2.0.0': MOSQUITTO_2_0, '2.1.0': MOSQUITTO_2_1 });
