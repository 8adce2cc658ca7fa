import type { introspection } from '../../src/generated/graph.d.ts';
import { titleTexts } from './title-texts.ts';

type Kind = introspection['types']['ProblemKind']['enumValues'];

/** Of the service itself, so no project has them. */
export const SERVICE_KINDS: readonly Kind[] = [
  'PROCESS_AWAY',
  'DATABASE_SLOW',
  'DATABASE_AWAY',
  'DISK_LOW',
  'AUDIT_WAITING',
  'LINK_LIMIT',
];

const isKind = (key: string): key is Kind => key in titleTexts.en;

/** Kinds of problems that a project can have. */
export const KINDS = Object.keys(titleTexts.en)
  .filter(isKind)
  .filter((kind) => !SERVICE_KINDS.includes(kind));
