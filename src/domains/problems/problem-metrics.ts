import type { Registry } from 'prom-client';
import { readGauge } from '../../platform/read-metrics.ts';
import { PROBLEM_KINDS, problemKinds } from './model/problem-kinds.ts';
import type { ProblemRecord } from './storage/problem-cache.ts';

export function registerProblemMetrics(open: () => Iterable<ProblemRecord>, registry: Registry): void {
  readGauge(registry, {
    name: 'brokergraph_problems',
    help: 'Open problems of all projects and of the service, also acknowledged and silenced ones',
    read: () => [
      // The series exist before anything is wrong, so that alerts can compare values.
      ...problemKinds.map((kind) => [{ kind, severity: PROBLEM_KINDS[kind].severity }, 0] as const),
      ...[...open()].map(({ kind, severity }) => [{ kind, severity }, 1] as const),
    ],
  });
}
