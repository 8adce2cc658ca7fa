import { clientEventsModule } from './client-events/client-events-module.ts';
import { metricsModule } from './metrics/metrics-module.ts';
import type { AnyModule } from './store/history-core.ts';

export const historyModules = (): readonly AnyModule[] => [metricsModule(), clientEventsModule];
