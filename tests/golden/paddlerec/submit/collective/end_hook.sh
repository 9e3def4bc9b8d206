echo "Run end_hook.sh ..."
