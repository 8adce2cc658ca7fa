import { builder } from '../../../gateway/graphql/builder.ts';
import { describedEnum } from '../../../gateway/graphql/described-enum.ts';
import { STATEMENTS, type StatementCode } from '../../../protocol/problems/problem-statements.ts';
import { PROBLEM_KINDS, type ProblemKind, type ProblemSeverity, problemKinds } from '../model/problem-kinds.ts';

export const ProblemSeverityType = describedEnum<ProblemSeverity>('ProblemSeverity', 'How urgent a problem is.', {
  CRITICAL: 'Something does not work now, or messages are lost.',
  WARNING: 'Something works badly, or soon does not work.',
  NOTICE: 'Something is limited.',
});

export const ProblemKindType = builder.enumType('ProblemKind', {
  description: 'What kind of problem it is. docs/problems.md describes each kind, with its thresholds and times.',
  values: Object.fromEntries(
    problemKinds.map((kind) => [kind, { description: `${PROBLEM_KINDS[kind].title}.` }]),
  ) as Record<ProblemKind, { description: string }>,
});

export const StatementCodeType = describedEnum<StatementCode>(
  'ProblemStatementCode',
  'What a sentence about a problem states. The description is the English text with the places of its parameters. Later versions may add values.',
  { ...STATEMENTS, ERROR: 'An error in the words of a broker, of a target or of the service: {error}' },
);
