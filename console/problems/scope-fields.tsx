import { type ReactNode, useState } from 'react';
import type { introspection } from '../../src/generated/graph.d.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { NotAll } from '../ui/not-all.tsx';
import { SEVERITIES } from './open-problems.ts';
import { KINDS, SERVICE_KINDS } from './project-kinds.ts';
import { scopeTexts } from './scope-texts.ts';
import { titleTexts } from './title-texts.ts';

const BROKERS = graphql(`query BrokersOfScope($id: ID!, $hasBrokers: Boolean!) {
  project(id: $id) @include(if: $hasBrokers) { brokers(first: 1000) { totalCount nodes { id name } } }
}`);

/** Which problems. An empty list: all. */
export interface Scope {
  readonly brokerIds: readonly string[];
  readonly kinds: readonly introspection['types']['ProblemKind']['enumValues'][];
  readonly severities: readonly (typeof SEVERITIES)[number][];
}

export const EVERYTHING: Scope = { brokerIds: [], kinds: [], severities: [] };

const useListed = (projectId: string | null) =>
  useQuery(BROKERS, { id: projectId ?? '', hasBrokers: projectId !== null }).data?.project?.brokers ?? null;

/** The brokers of a project, for choices. `null`: not known yet, or the service itself, which has none. */
export const useBrokers = (projectId: string | null) => useListed(projectId)?.nodes ?? null;

interface ScopeFieldsProps {
  /** `null`: problems of the service itself, which no broker has. */
  readonly projectId: string | null;
  readonly scope: Scope;
  readonly onChange: (part: Partial<Scope>) => void;
}

/** Which problems a silence or a channel is about. */
export function ScopeFields({ projectId, scope, onChange }: ScopeFieldsProps) {
  const text = useTexts(scopeTexts);
  const titleOf = useTexts(titleTexts);
  const listed = useListed(projectId);
  const { nodes, totalCount } = listed ?? { nodes: [], totalCount: 0 };
  const isAll = nodes.length === totalCount;
  const brokers = nodes.map(({ id, name }) => ({ value: id, label: name }));
  // A broker may have been deleted since it was chosen. Without a choice it could not be removed.
  const unlisted = scope.brokerIds.filter((id) => nodes.every((broker) => broker.id !== id));
  const others = unlisted.map((id) => ({ value: id, label: isAll ? `${text('deletedBroker')} (${id})` : id }));
  return (
    <>
      {listed !== null && brokers.length + others.length > 0 && (
        <Choices
          title={text('brokers')}
          all={text('allBrokers')}
          values={[...brokers, ...others]}
          chosen={scope.brokerIds}
          onChange={(brokerIds) => onChange({ brokerIds })}
        />
      )}
      <NotAll shown={nodes.length} total={totalCount} />
      <Choices
        title={text('severities')}
        all={text('allSeverities')}
        values={SEVERITIES.map((value) => ({ value, label: text(value) }))}
        chosen={scope.severities}
        onChange={(severities) => onChange({ severities })}
      />
      <Choices
        title={text('kinds')}
        all={text('allKinds')}
        values={(projectId === null ? SERVICE_KINDS : KINDS).map((value) => ({ value, label: titleOf(value) }))}
        chosen={scope.kinds}
        onChange={(kinds) => onChange({ kinds })}
      />
    </>
  );
}

interface ChoicesProps<Value extends string> {
  readonly title: string;
  /** What no choice means. */
  readonly all: string;
  readonly values: readonly { readonly value: Value; readonly label: ReactNode }[];
  readonly chosen: readonly Value[];
  readonly onChange: (chosen: readonly Value[]) => void;
}

/** Beyond it the choices are folded. */
const FEW = 6;

function Choices<Value extends string>({ title, all, values, chosen, onChange }: ChoicesProps<Value>) {
  const text = useTexts(scopeTexts);
  const [isOpen] = useState(chosen.length > 0 || values.length <= FEW);
  const flip = (value: Value) =>
    onChange(chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value]);
  const state = chosen.length === 0 ? all : text('chosen', { count: chosen.length });
  return (
    <details className="choices" open={isOpen}>
      <summary>
        {title} <span className="quiet">{state}</span>
      </summary>
      <fieldset>
        <legend className="hidden">{title}</legend>
        {values.map(({ value, label }) => (
          <label key={value} className="choice">
            <input type="checkbox" checked={chosen.includes(value)} onChange={() => flip(value)} />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
    </details>
  );
}
