import { type FormEvent, useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { ProblemThresholds } from '../problems/thresholds.tsx';
import { useTexts } from '../texts/texts.ts';
import { DangerZone } from '../ui/danger-zone.tsx';
import { Field } from '../ui/field.tsx';
import { useNotices } from '../ui/notices.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { Time } from '../ui/time.tsx';
import { DeleteProject } from './delete-project.tsx';
import { HistoryStorage } from './history-storage.tsx';
import { useProject, useRenewProject } from './project-context.ts';
import { settingsTexts } from './settings-texts.ts';

const SETTINGS = graphql(`query ProjectSettings($id: ID!) {
  project(id: $id) {
    id
    name
    description
    createdAt
    updatedAt
    owner { name }
    settings { hasStrictRoles storesClusterPasswords storesTopicPayloads }
    viewerCanUpdate
    viewerCanDelete
  }
}`);
const UPDATE = graphql(`mutation UpdateProject($input: UpdateProjectInput!) {
  updateProject(input: $input) { project { id } }
}`);

type Found = NonNullable<ResultOf<typeof SETTINGS>['project']>;

const CHOICES = ['hasStrictRoles', 'storesClusterPasswords', 'storesTopicPayloads'] as const;

/** The name and the settings of a project, and its deletion. */
export function Settings() {
  const text = useTexts(settingsTexts);
  const { id } = useProject();
  const renewProject = useRenewProject();
  const { data, error, renew } = useQuery(SETTINGS, { id });
  const [isDeleting, setDeleting] = useState(false);
  const found = data?.project;
  if (!found) return <Problem error={error} />;
  const changed = () => {
    renew();
    renewProject();
  };
  return (
    <>
      <SettingsForm key={found.updatedAt} found={found} onSaved={changed} />
      <dl>
        <dt>{text('owner')}</dt>
        <dd>{found.owner.name}</dd>
        <dt>{text('created')}</dt>
        <dd>
          <Time at={found.createdAt} />
        </dd>
        <dt>{text('id')}</dt>
        <dd>
          <code>{found.id}</code>
        </dd>
      </dl>
      <HistoryStorage />
      <ProblemThresholds projectId={id} />
      {found.viewerCanDelete && (
        <DangerZone>
          <button type="button" className="danger" onClick={() => setDeleting(true)}>
            {text('deleteProject')}
          </button>
        </DangerZone>
      )}
      {isDeleting && <DeleteProject project={found} onClose={() => setDeleting(false)} />}
    </>
  );
}

function SettingsForm({ found, onSaved }: { readonly found: Found; readonly onSaved: () => void }) {
  const text = useTexts(settingsTexts);
  const notify = useNotices();
  const { run, isBusy, error } = useMutation(UPDATE);
  const { id, name, description, settings, viewerCanUpdate } = found;
  const before = { name, description, ...settings };
  const [input, setInput] = useState(before);
  const changed = CHOICES.filter((key) => input[key] !== before[key]);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if ((await run({ input: { projectId: id, ...input } })) === null) return;
    notify(text('saved'));
    onSaved();
  };
  return (
    <form className="fields" onSubmit={(event) => void save(event)}>
      <Field label={text('name')}>
        <input
          value={input.name}
          required={true}
          readOnly={!viewerCanUpdate}
          onInput={({ currentTarget: { value } }) => setInput({ ...input, name: value })}
        />
      </Field>
      <Field label={text('description')}>
        <textarea
          rows={2}
          value={input.description}
          readOnly={!viewerCanUpdate}
          onInput={({ currentTarget: { value } }) => setInput({ ...input, description: value })}
        />
      </Field>
      {settings !== null &&
        CHOICES.map((key) => (
          <label key={key} className="choice">
            <input
              type="checkbox"
              checked={input[key]}
              disabled={!viewerCanUpdate}
              onChange={({ currentTarget: { checked } }) => setInput({ ...input, [key]: checked })}
            />
            <span>
              {text(key)} <small>{text(`${key}Hint`)}</small>
            </span>
          </label>
        ))}
      <div role="status">
        {changed.map((key) => (
          <p key={key} className="note">
            {text(`${key}${input[key] ? 'On' : 'Off'}`)}
          </p>
        ))}
      </div>
      <Refusal error={error} />
      {viewerCanUpdate && (
        <p>
          <button type="submit" disabled={isBusy || JSON.stringify(input) === JSON.stringify(before)}>
            {text('save')}
          </button>
        </p>
      )}
    </form>
  );
}
