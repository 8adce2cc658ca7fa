import { Gauge, type Registry } from 'prom-client';
import { PROBLEM_KINDS, problemKinds } from './model/problem-kinds.ts';
import type { ProblemRecord } from './storage/problem-cache.ts';

export function registerProblemMetrics(open: () => Iterable<ProblemRecord>, registry: Registry): void {
  new Gauge({
    name: 'brokergraph_problems',
    help: 'Open problems of all projects and of the service, also acknowledged and silenced ones',
    labelNames: ['kind', 'severity'],
    registers: [registry],
    collect() {
      this.reset();
      // The series exist before anything is wrong, so that alerts can compare values.
      for (const kind of problemKinds) this.set({ kind, severity: PROBLEM_KINDS[kind].severity }, 0);
      for (const { kind, severity } of open()) this.inc({ kind, severity });
    },
  });
}
