/**
 * The thread of all bridges beside brokers, so that a busy bridge delays nobody else's requests. A bug in it ends it with an error, and the
 * service starts it again.
 */
import { serveThread } from '../../../protocol/hosting/serve-thread.ts';
import { BridgeHosts } from './bridge-hosts.ts';
import type { BridgeNews, BridgeOrder, BridgeQuestion } from './bridge-protocol.ts';
import { startBridge } from './start-bridge.ts';

serveThread<BridgeOrder, BridgeQuestion, BridgeNews>((voice) => new BridgeHosts(voice, startBridge));
