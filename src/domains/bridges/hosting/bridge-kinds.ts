import type { BridgeKind } from '../model/bridge-kind.ts';
import { mqttBridgeKind } from '../mqtt/mqtt-bridge-kind.ts';
import { postgresqlBridgeKind } from '../postgresql/postgresql-bridge-kind.ts';
import { webhookBridgeKind } from '../webhook/webhook-bridge-kind.ts';

/** The kinds of bridges that this service runs; how each is started is told by start-bridge.ts, which only their thread loads. */
export const BRIDGE_KINDS: readonly BridgeKind[] = [mqttBridgeKind, postgresqlBridgeKind, webhookBridgeKind];
