import type { Registry } from 'prom-client';
import { readGauge } from '../../platform/read-metrics.ts';
import { PROBLEM_KINDS, problemKinds } from './model/problem-kinds.ts';
import type { ProblemService } from './problem-service.ts';

export function registerProblemMetrics(
  problems: Pick<ProblemService, 'cache' | 'isSilenced'>,
  registry: Registry,
): void {
  const open = () => [...problems.cache.allOpen()];
  readGauge(registry, {
    name: 'brokergraph_problems',
    help: 'Open problems of all projects and of the service, also acknowledged ones, without silenced ones',
    read: () => [
      // The series exist before anything is wrong, so that alerts can compare values.
      ...problemKinds.map((kind) => [{ kind, severity: PROBLEM_KINDS[kind].severity }, 0] as const),
      ...open()
        .filter((problem) => !problems.isSilenced(problem))
        .map(({ kind, severity }) => [{ kind, severity }, 1] as const),
    ],
  });
  readGauge(registry, {
    name: 'brokergraph_problems_silenced',
    help: 'Open problems that are silenced now',
    read: () => open().filter(problems.isSilenced).length,
  });
}
