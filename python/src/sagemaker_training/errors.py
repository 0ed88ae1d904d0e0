"""The exceptions of the toolkit. Their texts are written to failure files."""


class ClientError(Exception):
    """An error caused by the user, not by the toolkit or the framework."""


class SMTrainingCompilerConfigurationError(Exception):
    """The job requests SageMaker Training Compiler, which cannot run here."""


class _CalledProcessError(ClientError):
    """A program of the job failed. Attributes: cmd, return_code (text), output, extra_info."""

    def __init__(self, cmd, return_code=None, output=None, info=None):
        super(_CalledProcessError, self).__init__()
        self.cmd = cmd
        self.return_code = str(return_code)
        self.output = output
        self.extra_info = info

    def __str__(self):
        output = self.output or ""
        if isinstance(output, bytes):
            output = output.decode("utf-8")
        lines = [
            "%s:" % type(self).__name__,
            "ExitCode %s" % self.return_code,
            'ErrorMessage "%s"' % output,
        ]
        if self.extra_info is not None:
            lines.append('ExtraInfo "%s"' % self.extra_info)
        lines.append('Command "%s"' % self.cmd)
        return "\n".join(lines).strip()


class InstallModuleError(_CalledProcessError):
    """pip could not install the user's package."""


class InstallRequirementsError(_CalledProcessError):
    """pip could not install the packages in requirements.txt."""


class ImportModuleError(ClientError):
    """The user's module could not be imported."""


class ExecuteUserScriptError(_CalledProcessError):
    """The user's program failed."""


class ChannelDoesNotExistError(Exception):
    """The job does not have this channel."""

    def __init__(self, channel_name):
        super(ChannelDoesNotExistError, self).__init__(
            "Channel %s is not a valid channel" % channel_name
        )


class UnsupportedFormatError(Exception):
    """No encoder or decoder supports the content type. Attribute: message."""

    def __init__(self, content_type, **kwargs):
        self.message = (
            "Content type %s is not supported by this framework.\n\n"
            "            Please implement input_fn to to deserialize the request data or an "
            "output_fn to\n"
            "            serialize the response. For more information, see the SageMaker Python "
            "SDK README." % content_type
        )
        super(UnsupportedFormatError, self).__init__(self.message, **kwargs)
