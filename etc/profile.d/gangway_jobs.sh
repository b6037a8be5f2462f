# Jobs find the commands that they were submitted with: /etc/profile sets PATH anew for a script that begins with
# `#!/bin/bash -l`. The node daemon sets GANGWAY_COMMAND_PATH in a job's environment; nothing happens elsewhere.
if [ -n "${GANGWAY_COMMAND_PATH-}" ] && [ -n "${GANGWAY_JOB_ID-}" ]; then
  case ":$PATH:" in
    *":$GANGWAY_COMMAND_PATH:"*) ;;
    *) PATH="$GANGWAY_COMMAND_PATH${PATH:+:$PATH}"; export PATH ;;
  esac
fi
