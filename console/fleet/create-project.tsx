import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { useOpened } from '../ui/use-opened.ts';
import { fleetTexts } from './texts.ts';

const CREATE = graphql(`mutation CreateProject($input: CreateProjectInput!) {
  createProject(input: $input) { project { id } }
}`);

const OWNERS = graphql(`query OwningOrganizations { organizations(first: 100) { nodes { id name } } }`);

/** Creates a project of the person, who then is on its screens. Its viewers only look. */
export function CreateProject() {
  const text = useTexts(fleetTexts);
  const [, navigate] = useLocation();
  const { run, isBusy, error } = useMutation(CREATE);
  const [name, setName] = useState('');
  const [organizationId, setOrganization] = useState('');
  const [isOpen, setOpen] = useOpened('project');
  const { data } = useQuery(OWNERS, {});
  const organizations = data?.organizations.nodes ?? [];
  const create = async () => {
    const created = await run({
      input: { name, hasStrictRoles: true, ...(organizationId !== '' && { organizationId }) },
    });
    if (created !== null) navigate(`/projects/${created.createProject.project.id}`);
  };
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        <Plus aria-hidden="true" /> {text('newProject')}
      </button>
      {isOpen && (
        <Confirmation
          title={text('newProject')}
          action={text('createProject')}
          isBusy={isBusy}
          isReady={name.trim() !== ''}
          error={error}
          onConfirm={() => void create()}
          onClose={() => setOpen(false)}
        >
          <div className="fields">
            <Field label={text('name')} hint={text('projectHint')}>
              <input
                value={name}
                required={true}
                maxLength={200}
                // biome-ignore lint/a11y/noAutofocus: the only field of the dialog
                autoFocus={true}
                onInput={({ currentTarget: { value } }) => setName(value)}
              />
            </Field>
            {organizations.length > 0 && (
              <Field label={text('owner')}>
                <select value={organizationId} onChange={({ currentTarget: { value } }) => setOrganization(value)}>
                  <option value="">{text('ownProject')}</option>
                  {organizations.map((one) => (
                    <option key={one.id} value={one.id}>
                      {one.name}
                    </option>
                  ))}
                </select>
              </Field>
            )}
          </div>
        </Confirmation>
      )}
    </>
  );
}
