import { useState } from 'react';
import { useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { settingsTexts } from './settings-texts.ts';

const CONTENT = graphql(`query ContentOfProject($id: ID!) {
  project(id: $id) {
    brokers(first: 1000) { totalCount nodes { id name type currentMetrics { clients { connected } } } }
    clusters(first: 1) { totalCount }
    certificates(first: 1) { totalCount }
    members(first: 1) { totalCount }
    tokenCount
    signInRules { id }
  }
}`);
const DELETE = graphql(`mutation DeleteProject($input: DeleteProjectInput!) {
  deleteProject(input: $input) { deletedProjectId }
}`);

interface DeleteProjectProps {
  readonly project: { readonly id: string; readonly name: string };
  readonly onClose: () => void;
}

/** Deletes a project, after all that is deleted with it was shown and the name was entered. */
export function DeleteProject({ project: { id, name }, onClose }: DeleteProjectProps) {
  const text = useTexts(settingsTexts);
  const notify = useNotices();
  const [, navigate] = useLocation();
  const { data, error: problem } = useQuery(CONTENT, { id });
  const { run, isBusy, error } = useMutation(DELETE);
  const [entered, setEntered] = useState('');
  const found = data?.project;
  const own = found?.brokers.nodes.filter(({ type }) => type === 'CLOUD') ?? [];
  const clients = own.reduce((sum, { currentMetrics: metrics }) => sum + (metrics?.clients.connected ?? 0), 0);
  const remove = async () => {
    if ((await run({ input: { projectId: id } })) === null) return;
    notify(text('deleted', { name }));
    navigate('/');
  };
  return (
    <Confirmation
      title={text('deleteOf', { name })}
      action={text('deleteProject')}
      isDestructive={true}
      isBusy={isBusy}
      isReady={found != null && entered === name}
      error={error ?? (found ? null : problem)}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      {found && (
        <>
          <p>{text('deletedWith')}</p>
          <ul>
            <li>{text('brokersOf', { count: found.brokers.totalCount })}</li>
            {own.length > 0 && (
              <li>{text('ownBrokers', { names: own.map((broker) => broker.name).join(', '), clients })}</li>
            )}
            <li>{text('clustersOf', { count: found.clusters.totalCount })}</li>
            <li>{text('certificatesOf', { count: found.certificates?.totalCount })}</li>
            <li>{text('membersOf', { count: found.members?.totalCount })}</li>
            <li>{text('tokensOf', { count: found.tokenCount })}</li>
            <li>{text('rulesOf', { count: found.signInRules?.length })}</li>
          </ul>
          <p>{text('othersContinue')}</p>
        </>
      )}
      <Field label={text('enterName', { name })}>
        <input
          value={entered}
          autoComplete="off"
          spellCheck={false}
          onInput={({ currentTarget: { value } }) => setEntered(value)}
        />
      </Field>
    </Confirmation>
  );
}
